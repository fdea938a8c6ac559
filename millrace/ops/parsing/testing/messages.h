// Bytes of tf.train.Example and tf.train.SequenceExample, for tests of what reads them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/tensor/tensor.h"

namespace millrace {

// Messages as what ops take: a vector of them, and one.
Tensor vector_of(std::vector<std::string> values);
Tensor text(std::string value);

// A field of bytes, a message's, say.
std::string field_of(int number, std::string_view bytes);

// A Feature.
std::string ints(std::initializer_list<int64_t> values);
std::string floats(std::initializer_list<float> values);
std::string texts(std::initializer_list<std::string> values);

// A FeatureList of these.
std::string steps(std::initializer_list<std::string> features);

// Features by key, or FeatureLists.
using Entries = std::vector<std::pair<std::string, std::string>>;
std::string features(const Entries& entries);
std::string example(const Entries& entries);
std::string sequence(const Entries& context, const Entries& lists);

}  // namespace millrace
