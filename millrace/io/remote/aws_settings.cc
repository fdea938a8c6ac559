#include "millrace/io/remote/aws_settings.h"

#include <initializer_list>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include "millrace/base/str_cat.h"

namespace millrace::remote {
namespace {

constexpr uint64_t kLongestFile = 1 << 20;

// Section -> name -> value.
using Sections = std::map<std::string, std::map<std::string, std::string>>;

std::string stripped(absl::string_view text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

// What stands in lines that begin with a blank belongs to settings of other services.
Sections sections_of(const std::string& text) {
  Sections found;
  std::string section;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line[0] == '#' || line[0] == ';' || line[0] == ' ' || line[0] == '\t')
      continue;
    const std::string plain = stripped(line);
    if (plain.starts_with('[')) {
      section = stripped(plain.substr(1, plain.find(']') - 1));
      found[section];
      continue;
    }
    const size_t equals = plain.find('=');
    if (equals == std::string::npos) continue;
    found[section][absl::AsciiStrToLower(stripped(plain.substr(0, equals)))] =
        stripped(plain.substr(equals + 1));
  }
  return found;
}

Result<Sections> read_sections(Files& local, const std::string& path) {
  if (path.empty()) return Sections();
  auto opened = local.open(path);
  if (opened.status().code() == Code::not_found) return Sections();
  MR_ASSIGN(const auto file, std::move(opened));
  MR_ASSIGN(const uint64_t size, file->size());
  if (size > kLongestFile)
    return invalid(path, "; has ", size, " bytes, which are no settings of AWS");
  std::string text(size, '\0');
  MR_ASSIGN(const size_t length, file->read(0, text));
  text.resize(length);
  return sections_of(text);
}

class Looking {
 public:
  explicit Looking(const Environment& environment) : environment_(environment) {}

  // The first of the variables that is set and not empty.
  std::string first(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (auto value = environment_(name); value && !value->empty()) return *std::move(value);
    return "";
  }
  std::string file(const char* variable, std::string_view usual) const {
    if (std::string given = first({variable}); !given.empty()) return given;
    const std::string home = first({"HOME"});
    return home.empty() ? "" : str_cat(home, "/.aws/", usual);
  }

 private:
  const Environment& environment_;
};

// What the files say of a profile; those of the credentials go first.
class Profile {
 public:
  static Result<Profile> read(const Looking& looking, Files& local) {
    Profile made;
    made.credentials_file_ = looking.file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    made.config_file_ = looking.file("AWS_CONFIG_FILE", "config");
    const std::string asked = looking.first({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
    made.name_ = asked.empty() ? "default" : asked;
    MR_ASSIGN(const Sections credentials, read_sections(local, made.credentials_file_));
    MR_ASSIGN(const Sections config, read_sections(local, made.config_file_));
    bool found = false;
    for (const auto& [sections, name] :
         {std::pair(&config, str_cat("profile ", made.name_)), std::pair(&config, made.name_),
          std::pair(&credentials, made.name_)}) {
      if (sections == &config && name == made.name_ && name != "default") continue;
      const auto at = sections->find(name);
      if (at == sections->end()) continue;
      found = true;
      for (const auto& [key, value] : at->second) made.values_[key] = value;
    }
    if (!asked.empty() && !found) {
      return failed_precondition("there is no profile '", shown_text(asked),
                                 "', which AWS_PROFILE names, in '", made.credentials_file_,
                                 "' or '", made.config_file_, "'");
    }
    return made;
  }

  std::string value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

  Result<std::optional<AwsKeys>> keys() const {
    AwsKeys keys{.id = value("aws_access_key_id"),
                 .secret = value("aws_secret_access_key"),
                 .token = value("aws_session_token")};
    if (!keys.id.empty() && !keys.secret.empty()) return std::optional(std::move(keys));
    if (!keys.id.empty() || !keys.secret.empty())
      return half("aws_access_key_id", "aws_secret_access_key");
    for (const char* way : {"role_arn", "credential_process", "sso_session", "sso_start_url"}) {
      if (value(way).empty()) continue;
      return failed_precondition(
          "the profile '", shown_text(name_), "' gets its keys by ", way,
          ", which is not known here: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
          "AWS_SESSION_TOKEN (`aws configure export-credentials --format env` prints them)");
    }
    return std::optional<AwsKeys>();
  }

 private:
  Status half(const char* one, const char* other) const {
    return failed_precondition("the profile '", shown_text(name_), "' has only one of ", one,
                               " and ", other, "; requests are signed with both");
  }

  std::string name_, credentials_file_, config_file_;
  std::map<std::string, std::string> values_;
};

Result<std::string> checked_endpoint(std::string said, bool is_secure) {
  if (said.empty()) return said;
  if (said.find("://") == std::string::npos)
    said = str_cat(is_secure ? "https://" : "http://", said);
  while (said.ends_with('/')) said.pop_back();
  const auto address = parse_address(said);
  if (!address.ok() || (address->scheme != "http" && address->scheme != "https") ||
      !address->path.empty())
    return invalid("'", shown_text(said),
                   "' is no endpoint of S3; those are 'http://HOST:PORT' "
                   "or https, without a path");
  return said;
}

}  // namespace

Result<AwsSettings> read_aws_settings(const Environment& environment, Files& local) {
  const Looking looking(environment);
  MR_ASSIGN(const Profile profile, Profile::read(looking, local));
  AwsSettings made;
  made.region = looking.first({"AWS_REGION", "AWS_DEFAULT_REGION", "S3_REGION"});
  if (made.region.empty()) made.region = profile.value("region");
  if (made.region.empty()) made.region = "us-east-1";
  std::string endpoint = looking.first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT"});
  if (endpoint.empty()) endpoint = profile.value("endpoint_url");
  MR_ASSIGN(made.endpoint,
            checked_endpoint(std::move(endpoint), looking.first({"S3_USE_HTTPS"}) != "0"));
  made.authorities = looking.first({"AWS_CA_BUNDLE"});

  AwsKeys keys{.id = looking.first({"AWS_ACCESS_KEY_ID"}),
               .secret = looking.first({"AWS_SECRET_ACCESS_KEY"}),
               .token = looking.first({"AWS_SESSION_TOKEN"})};
  if (keys.id.empty() != keys.secret.empty()) {
    return failed_precondition(
        "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; "
        "requests are signed with both");
  }
  if (!keys.id.empty()) {
    made.keys = std::move(keys);
  } else {
    MR_ASSIGN(made.keys, profile.keys());
  }
  return made;
}

}  // namespace millrace::remote
