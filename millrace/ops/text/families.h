// The families of ops in this room: strings.
//
// A family is a source file with its ops as values; register_text adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_text(OpRegistry& ops);

// Strings: joining, splitting, measuring, to numbers and back.
Status register_strings(OpRegistry& ops);

// Which bucket a string falls into: StringToHashBucketFast and its kin.
Status register_buckets(OpRegistry& ops);

// Patterns: RegexReplace, RegexFullMatch, and their forms with a pattern in the graph.
Status register_regexes(OpRegistry& ops);

// Parts and forms of a string: Substr, StringStrip, StringLower, EncodeBase64 …
Status register_pieces(OpRegistry& ops);

// Several strings as one: ReduceJoin, UnsortedSegmentJoin, StringFormat.
Status register_combined(OpRegistry& ops);

// Runs of words: StringNGrams.
Status register_ngrams(OpRegistry& ops);

// Texts as code points and in other charsets: UnicodeDecode, UnicodeEncode, UnicodeTranscode …
Status register_unicode(OpRegistry& ops);

// Fingerprint: a hash for each row of a tensor of any type.
Status register_fingerprints(OpRegistry& ops);

}  // namespace millrace
