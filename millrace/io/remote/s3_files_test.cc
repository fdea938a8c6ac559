#include "millrace/io/remote/s3_files.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "millrace/io/remote/s3_answers.h"
#include "millrace/io/remote/s3_upload.h"
#include "millrace/io/remote/testing/scripted_http.h"

namespace millrace::remote {
namespace {

struct S3Lab {
  testing::ScriptedHttp http;
  SeededRandom random{1};
  Retries retries{Clock::real(),
                  random,
                  {.tries = 2,
                   .first_pause = std::chrono::milliseconds(0),
                   .longest_pause = std::chrono::milliseconds(0)}};
  S3Store store;
  S3Files files{store};

  explicit S3Lab(std::string endpoint = "http://store:9000")
      : store({.endpoint = std::move(endpoint),
               .region = "us-east-1",
               .keys = AwsKeys{.id = "id", .secret = "never-shown"},
               .authorities = {}},
              http, retries, Clock::real()) {}

  std::string line(size_t number) const { return http.seen().at(number).line; }
};

const std::map<std::string, std::string, std::less<>> kThree = {{"content-length", "3"},
                                                                {"etag", "\"e\""}};

std::string page(std::string_view keys, std::string_view next) {
  std::string made = "<ListBucketResult>" + std::string(keys);
  if (!next.empty())
    made += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + std::string(next) +
            "</NextContinuationToken>";
  return made + "</ListBucketResult>";
}

TEST_CASE("an object is read by a range of it, and only as the one that was opened") {
  S3Lab lab;
  lab.http.answer(200, "", kThree);
  lab.http.answer(206, "abc");
  const auto file = lab.files.open("s3://bucket/a b").value();
  std::string into(10, '\0');
  CHECK(file->read(0, into).value() == 3);
  CHECK(lab.line(0) == "HEAD http://store:9000/bucket/a%20b");
  const auto& headers = lab.http.seen().at(1).headers;
  CHECK(std::count(headers.begin(), headers.end(), "range: bytes=0-2") == 1);
  CHECK(std::count(headers.begin(), headers.end(), "if-match: \"e\"") == 1);
}

TEST_CASE("an object that is replaced, or comes short, while it is read is no other bytes") {
  S3Lab lab;
  lab.http.answer(200, "", kThree);
  lab.http.answer(412);
  lab.http.answer(206, "ab");
  const auto file = lab.files.open("s3://bucket/a").value();
  std::string into(3, '\0');
  CHECK(file->read(0, into).status().code() == Code::aborted);
  CHECK(file->read(0, into).status().code() == Code::data_loss);
}

TEST_CASE("errors name the path, what was asked and what was said, and no secret") {
  S3Lab lab;
  lab.http.answer(403, "<Error><Code>AccessDenied</Code><Message>Not you</Message></Error>");
  const Status status = lab.files.list("s3://bucket/d").status();
  CHECK(status.to_string() ==
        "PERMISSION_DENIED: listing 's3://bucket/d/': s3://bucket/; GET http://store:9000/bucket: "
        "403 AccessDenied: Not you");
  lab.http.answer(503, "<Error><Code>SlowDown</Code></Error>");
  lab.http.answer(503, "<Error><Code>SlowDown</Code></Error>");
  CHECK(lab.files.facts("s3://bucket/k").status().to_string() ==
        "UNAVAILABLE: s3://bucket/k; HEAD http://store:9000/bucket/k: 503 SlowDown, after 2 tries");
}

TEST_CASE("a bucket of AWS has a host of its own, unless no certificate fits its name") {
  S3Lab lab("");
  lab.http.answer(200, "", kThree);
  lab.http.answer(200, "", kThree);
  CHECK(lab.files.facts("s3://bucket/k").ok());
  CHECK(lab.files.facts("s3://a.b/k").ok());
  CHECK(lab.line(0) == "HEAD https://bucket.s3.us-east-1.amazonaws.com/k");
  CHECK(lab.line(1) == "HEAD https://s3.us-east-1.amazonaws.com/a.b/k");
}

TEST_CASE("a bucket of another region says which one to set") {
  S3Lab lab;
  lab.http.answer(301, "", {{"x-amz-bucket-region", "eu-west-1"}});
  const Status status = lab.files.facts("s3://bucket/k").status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find("'eu-west-1'") != std::string::npos);
}

TEST_CASE("a directory is what keys begin with, page after page") {
  S3Lab lab;
  lab.http.answer(
      200, page("<Contents><Key>d/</Key></Contents><Contents><Key>d/a</Key></Contents>", "t"));
  lab.http.answer(200, page("<CommonPrefixes><Prefix>d/b/</Prefix></CommonPrefixes>", ""));
  CHECK(lab.files.list("s3://bucket/d").value() == std::vector<std::string>{"a", "b"});
  CHECK(lab.line(1).find("continuation-token=t&delimiter=%2F") != std::string::npos);
  lab.http.answer(200, page("", ""));
  CHECK(lab.files.list("s3://bucket/none").status().code() == Code::not_found);
}

TEST_CASE("a list that never ends, or tells of what is elsewhere, is data loss") {
  S3Lab lab;
  lab.http.answer(200, page("<Contents><Key>d/a</Key></Contents>", "t"));
  lab.http.answer(200, page("<Contents><Key>d/a</Key></Contents>", "t"));
  CHECK(lab.files.list("s3://bucket/d").status().code() == Code::data_loss);
  for (int i = 0; i < 200; ++i)
    lab.http.answer(200, page("<Contents><Key>d/a</Key></Contents>", std::to_string(i)));
  CHECK(lab.files.list("s3://bucket/d").status().code() == Code::data_loss);
  S3Lab other;
  other.http.answer(200, page("<Contents><Key>elsewhere</Key></Contents>", ""));
  CHECK(other.files.list("s3://bucket/d").status().code() == Code::data_loss);
}

TEST_CASE("a small object is put once, and as a whole again when more is flushed") {
  S3Lab lab;
  lab.http.answer(200);
  lab.http.answer(200);
  const auto file = lab.files.create("s3://bucket/k").value();
  REQUIRE(file->append("ab").ok());
  REQUIRE(file->sync().ok());
  REQUIRE(file->flush().ok());
  REQUIRE(file->append("c").ok());
  REQUIRE(file->close().ok());
  CHECK(file->append("d").code() == Code::failed_precondition);
  REQUIRE(lab.http.seen().size() == 2);
  CHECK(lab.http.seen()[1].body == "abc");
}

TEST_CASE("an empty object is there once it is closed") {
  S3Lab lab;
  lab.http.answer(200);
  REQUIRE(lab.files.create("s3://bucket/k").value()->close().ok());
  CHECK(lab.line(0) == "PUT http://store:9000/bucket/k");
}

constexpr const char* kBegun =
    "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>";

TEST_CASE("a large object goes up in parts; what follows a flush begins with what is there") {
  S3Lab lab;
  const std::string part(S3Upload::kPart, 'x');
  const auto file = lab.files.create("s3://bucket/k").value();
  lab.http.answer(200, kBegun);
  lab.http.answer(200, "", {{"etag", "\"1\""}});
  REQUIRE(file->append(part).ok());
  lab.http.answer(200, "", {{"etag", "\"2\""}});
  lab.http.answer(200,
                  "<CompleteMultipartUploadResult><ETag>w</ETag></CompleteMultipartUploadResult>");
  REQUIRE(file->append("end").ok());
  REQUIRE(file->flush().ok());
  CHECK(lab.line(1) == "PUT http://store:9000/bucket/k?partNumber=1&uploadId=u");
  CHECK(lab.http.seen()[2].body == "end");
  CHECK(lab.http.seen()[3].body == s3_completion({"\"1\"", "\"2\""}));
  lab.http.answer(200, kBegun);
  lab.http.answer(200, "<CopyPartResult><ETag>c</ETag></CopyPartResult>");
  lab.http.answer(200, "", {{"etag", "\"3\""}});
  lab.http.answer(200,
                  "<CompleteMultipartUploadResult><ETag>v</ETag></CompleteMultipartUploadResult>");
  REQUIRE(file->append("more").ok());
  REQUIRE(file->close().ok());
  const auto& headers = lab.http.seen()[5].headers;
  CHECK(std::count(headers.begin(), headers.end(), "x-amz-copy-source-if-match: w") == 1);
  CHECK(std::count(headers.begin(), headers.end(),
                   "x-amz-copy-source-range: bytes=0-" + std::to_string(part.size() + 2)) == 1);
  CHECK(lab.http.is_over());
}

TEST_CASE("an upload that fails is given up, and says so from then on") {
  S3Lab lab;
  const auto file = lab.files.create("s3://bucket/k").value();
  lab.http.answer(200, kBegun);
  lab.http.answer(403);
  lab.http.answer(204);
  CHECK(file->append(std::string(S3Upload::kPart, 'x')).code() == Code::permission_denied);
  CHECK(file->close().code() == Code::permission_denied);
  CHECK(lab.line(2) == "DELETE http://store:9000/bucket/k?uploadId=u");
  CHECK(lab.http.seen().size() == 3);
}

TEST_CASE("an upload that was completed by a try whose answer was lost is complete") {
  const std::string sum = "\"d41d8cd98f00b204e9800998ecf8427e\"";
  for (const bool is_ours : {true, false}) {
    S3Lab lab;
    const auto file = lab.files.create("s3://bucket/k").value();
    lab.http.answer(200, kBegun);
    lab.http.answer(200, "", {{"etag", sum}});
    REQUIRE(file->append(std::string(S3Upload::kPart, 'x')).ok());
    lab.http.fail(unavailable("reset"), true);
    lab.http.answer(404, "<Error><Code>NoSuchUpload</Code></Error>");
    lab.http.answer(200, "",
                    {{"content-length", std::to_string(S3Upload::kPart)},
                     {"etag", is_ours ? expected_s3_etag({sum}) : "\"another's\""}});
    if (!is_ours) lab.http.answer(204);
    CHECK(file->close().code() == (is_ours ? Code::ok : Code::not_found));
    CHECK(lab.http.is_over());
  }
}

TEST_CASE("a rename copies what was looked at and then removes it; an error in a 200 is one") {
  S3Lab lab;
  lab.http.answer(200, "", kThree);
  lab.http.answer(200, "<CopyObjectResult><ETag>e</ETag></CopyObjectResult>");
  lab.http.answer(204);
  CHECK(lab.files.rename("s3://bucket/a", "s3://other/b").ok());
  CHECK(lab.line(1) == "PUT http://store:9000/other/b");
  CHECK(lab.line(2) == "DELETE http://store:9000/bucket/a");
  lab.http.answer(200, "", kThree);
  for (int i = 0; i < 2; ++i)
    lab.http.answer(200, "<Error><Code>InternalError</Code><Message>oh</Message></Error>");
  CHECK(lab.files.rename("s3://bucket/a", "s3://bucket/b").code() == Code::unavailable);
  CHECK(lab.http.is_over());  // and the old one is not removed
}

TEST_CASE("what is no file, or no bucket, is refused before anything is asked") {
  S3Lab lab;
  CHECK(lab.files.open("s3://bucket/d/").status().code() == Code::failed_precondition);
  CHECK(lab.files.create("s3://bucket").status().code() == Code::failed_precondition);
  CHECK(lab.files.open("s3://").status().code() == Code::invalid_argument);
  CHECK(lab.http.seen().empty());
}

}  // namespace
}  // namespace millrace::remote
