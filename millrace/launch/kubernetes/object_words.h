// Reads the cluster's objects, whatever is in them: what is not there, or something else, is empty.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include <nlohmann/json.hpp>

namespace millrace {

using ObjectPath = std::initializer_list<const char*>;

const nlohmann::ordered_json& object_part(const nlohmann::ordered_json& object, ObjectPath path);
std::string object_text(const nlohmann::ordered_json& object, ObjectPath path);
int64_t object_number(const nlohmann::ordered_json& object, ObjectPath path);
std::string annotation_of(const nlohmann::ordered_json& object, const char* name);
// Null if that condition is not there, or not true.
const nlohmann::ordered_json* condition_of(const nlohmann::ordered_json& object, const char* type);

// The number that the text begins with, or 0.
int64_t number_of(const std::string& text);
// "2026-01-31T12:00:00Z" as seconds since the Unix epoch; 0 for what is no such time.
int64_t seconds_of(const std::string& time);
// The words of the cluster, on one line and not too long.
std::string shortened(std::string words);

}  // namespace millrace
