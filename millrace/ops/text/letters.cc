#include "millrace/ops/text/letters.h"

#include <unicase.h>
#include <unictype.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/text/code_points.h"

namespace millrace {
namespace {

struct FreeMemory {
  void operator()(uint32_t* memory) const { std::free(memory); }
};

void append_letter(uint32_t letter, std::string& text) {
  append_character(Utf::utf8, static_cast<int32_t>(letter), text);
}

// Where the letters are that may become several in upper case: small, so that most texts have none.
bool is_special_in_upper_case(uint32_t letter) {
  if (letter < 0xdf) return false;
  static constexpr std::pair<uint32_t, uint32_t> kPlaces[] = {
      {0xdf, 0xdf},   {0x149, 0x149},   {0x1f0, 0x1f0},   {0x390, 0x390},  {0x3b0, 0x3b0},
      {0x587, 0x587}, {0x1e96, 0x1e9a}, {0x1f50, 0x1ffc}, {0xfb00, 0xfb17}};
  return std::ranges::any_of(kPlaces, [letter](const std::pair<uint32_t, uint32_t>& place) {
    return letter >= place.first && letter <= place.second;
  });
}

void append_special_in_upper_case(uint32_t letter, std::string& text) {
  uint32_t several[8];  // three at most
  size_t count = std::size(several);
  const uint32_t* const made = u32_toupper(&letter, 1, nullptr, nullptr, several, &count);
  if (made != several) count = 0;
  for (size_t i = 0; i < count; ++i) append_letter(several[i], text);
}

// Whether there is a capital I with a dot, which becomes two, or a sigma, whose form depends on
// what stands around it.
bool has_special_in_lower_case(std::string_view text) {
  return text.find("\xc4\xb0") != std::string_view::npos ||
         text.find("\xce\xa3") != std::string_view::npos;
}

// By the library's rules for whole texts, which take ten times as long as letter by letter.
Result<std::string> whole_in_lower_case(std::string_view text) {
  std::vector<uint32_t> letters;
  letters.reserve(text.size());
  read_utf8(text, [&](const Character& character) {
    letters.push_back(static_cast<uint32_t>(character.code_point));
  });
  size_t size = 0;
  const std::unique_ptr<uint32_t, FreeMemory> changed(
      u32_tolower(letters.data(), letters.size(), nullptr, nullptr, nullptr, &size));
  if (changed == nullptr) {
    return error(Code::resource_exhausted, "no memory to change the case of ", letters.size(),
                 " letters");
  }
  std::string made;
  made.reserve(text.size());
  for (size_t i = 0; i < size; ++i) append_letter(changed.get()[i], made);
  return made;
}

bool is_all_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isascii(c); });
}

// What is of no script that is known.
constexpr int32_t kUnknownScript = 103;

// libunistring has names for scripts, and an order of its own; graphs have ICU's numbers.
constexpr std::string_view kScripts =
    "Common 0 Inherited 1 Arabic 2 Armenian 3 Bengali 4 Bopomofo 5 Cherokee 6 Coptic 7 "
    "Cyrillic 8 Deseret 9 Devanagari 10 Ethiopic 11 Georgian 12 Gothic 13 Greek 14 "
    "Gujarati 15 Gurmukhi 16 Han 17 Hangul 18 Hebrew 19 Hiragana 20 Kannada 21 "
    "Katakana 22 Khmer 23 Lao 24 Latin 25 Malayalam 26 Mongolian 27 Myanmar 28 Ogham 29 "
    "Old_Italic 30 Oriya 31 Runic 32 Sinhala 33 Syriac 34 Tamil 35 Telugu 36 Thaana 37 "
    "Thai 38 Tibetan 39 Canadian_Aboriginal 40 Yi 41 Tagalog 42 Hanunoo 43 Buhid 44 "
    "Tagbanwa 45 Braille 46 Cypriot 47 Limbu 48 Linear_B 49 Osmanya 50 Shavian 51 "
    "Tai_Le 52 Ugaritic 53 Buginese 55 Glagolitic 56 Kharoshthi 57 Syloti_Nagri 58 "
    "New_Tai_Lue 59 Tifinagh 60 Old_Persian 61 Balinese 62 Batak 63 Brahmi 65 Cham 66 "
    "Egyptian_Hieroglyphs 71 Pahawh_Hmong 75 Old_Hungarian 76 Javanese 78 Kayah_Li 79 "
    "Lepcha 82 Linear_A 83 Mandaic 84 Meroitic_Hieroglyphs 86 Nko 87 Old_Turkic 88 "
    "Old_Permic 89 Phags_Pa 90 Phoenician 91 Miao 92 Vai 99 Cuneiform 101 Carian 104 "
    "Tai_Tham 106 Lycian 107 Lydian 108 Ol_Chiki 109 Rejang 110 Saurashtra 111 "
    "SignWriting 112 Sundanese 113 Meetei_Mayek 115 Imperial_Aramaic 116 Avestan 117 "
    "Chakma 118 Kaithi 120 Manichaean 121 Inscriptional_Pahlavi 122 Psalter_Pahlavi 123 "
    "Inscriptional_Parthian 125 Samaritan 126 Tai_Viet 127 Bamum 130 Lisu 131 "
    "Old_South_Arabian 133 Bassa_Vah 134 Duployan 135 Elbasan 136 Grantha 137 "
    "Mende_Kikakui 140 Meroitic_Cursive 141 Old_North_Arabian 142 Nabataean 143 "
    "Palmyrene 144 Khudawadi 145 Warang_Citi 146 Mro 149 Nushu 150 Sharada 151 "
    "Sora_Sompeng 152 Takri 153 Tangut 154 Anatolian_Hieroglyphs 156 Khojki 157 "
    "Tirhuta 158 Caucasian_Albanian 159 Mahajani 160 Ahom 161 Hatran 162 Modi 163 "
    "Multani 164 Pau_Cin_Hau 165 Siddham 166 Adlam 167 Bhaiksuki 168 Marchen 169 Newa 170 "
    "Osage 171 Masaram_Gondi 175 Soyombo 176 Zanabazar_Square 177 Dogra 178 "
    "Gunjala_Gondi 179 Makasar 180 Medefaidrin 181 Hanifi_Rohingya 182 Sogdian 183 "
    "Old_Sogdian 184 Elymaic 185 Nyiakeng_Puachue_Hmong 186 Nandinagari 187 Wancho 188 "
    "Chorasmian 189 Dives_Akuru 190 Khitan_Small_Script 191 Yezidi 192 Cypro_Minoan 193 "
    "Old_Uyghur 194 Tangsa 195 Toto 196 Vithkuqi 197";

// ICU's numbers in the order of libunistring's list, whose entries it gives for code points.
struct ScriptNumbers {
  const uc_script_t* first = nullptr;
  std::vector<int32_t> numbers;
};

ScriptNumbers numbers_of_scripts() {
  ScriptNumbers made;
  size_t count = 0;
  uc_all_scripts(&made.first, &count);
  made.numbers.assign(count, kUnknownScript);
  const std::vector<absl::string_view> words = absl::StrSplit(to_absl(kScripts), ' ');
  absl::flat_hash_map<absl::string_view, int32_t> of_name;
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    (void)absl::SimpleAtoi(words[i + 1], &of_name[words[i]]);
  for (size_t i = 0; i < count; ++i) {
    const auto found = of_name.find(made.first[i].name);
    if (found != of_name.end()) made.numbers[i] = found->second;
  }
  return made;
}

}  // namespace

Result<std::string> upper_case(std::string_view text) {
  if (is_all_ascii(text)) return absl::AsciiStrToUpper({text.data(), text.size()});
  std::string made;
  made.reserve(text.size());
  read_utf8(text, [&](const Character& character) {
    const auto letter = static_cast<uint32_t>(character.code_point);
    if (is_special_in_upper_case(letter)) {
      append_special_in_upper_case(letter, made);
    } else {
      append_letter(uc_toupper(letter), made);
    }
  });
  return made;
}

Result<std::string> lower_case(std::string_view text) {
  if (is_all_ascii(text)) return absl::AsciiStrToLower({text.data(), text.size()});
  if (has_special_in_lower_case(text)) return whole_in_lower_case(text);
  std::string made;
  made.reserve(text.size());
  read_utf8(text, [&](const Character& character) {
    append_letter(uc_tolower(static_cast<uint32_t>(character.code_point)), made);
  });
  return made;
}

int32_t script_of(int32_t code_point) {
  if (code_point < 0 || code_point > kLastCodePoint) return -1;
  static const ScriptNumbers kNumbers = numbers_of_scripts();
  const uc_script_t* const script = uc_script(static_cast<ucs4_t>(code_point));
  return script == nullptr ? kUnknownScript
                           : kNumbers.numbers[static_cast<size_t>(script - kNumbers.first)];
}

}  // namespace millrace
