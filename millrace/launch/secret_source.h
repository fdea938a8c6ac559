// Where the value of a secret is had from. A job names that, and never holds the value itself: so
// it can be shown, kept and submitted again like the rest of it. A value; pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "millrace/base/status.h"
#include "millrace/base/str_cat.h"

namespace millrace {

struct SecretSource {
  enum class Kind : uint8_t {
    environment,  // a variable of whoever starts or submits the job
    file,         // of theirs, but for the newline at its end
    kubernetes,   // "NAME/KEY" of a Secret in the job's namespace
  };
  Kind kind = Kind::environment;
  std::string from = {};
  friend bool operator==(const SecretSource&, const SecretSource&) = default;
};

// By the environment variables that tasks find the values in.
using SecretSources = std::map<std::string, SecretSource>;

// For people: "environment variable DB_PASSWORD", "file ~/key", "Secret db/password".
std::string to_text(const SecretSource& source);

// INVALID_ARGUMENT that names the variable and says what is allowed.
Status check_secret(const std::string& variable, const SecretSource& source);

// Of a Secret "db/password": "db" and "password".
struct SecretOfCluster {
  std::string name;
  std::string key;
};
SecretOfCluster secret_of_cluster(const SecretSource& source);

}  // namespace millrace
