#include "millrace/io/remote/s3_answers.h"

#include <doctest/doctest.h>

namespace millrace::remote {
namespace {

TEST_CASE("a page of a list has keys, prefixes and where it goes on") {
  const S3Page page =
      read_s3_page(
          "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
          "<Name>b</Name><Prefix>d/</Prefix><EncodingType>url</EncodingType>"
          "<IsTruncated>true</IsTruncated><NextContinuationToken>t/1=</NextContinuationToken>"
          "<Contents><Key>d/a%2Bb+c</Key><Size>3</Size><Owner><ID>x</ID></Owner></Contents>"
          "<CommonPrefixes><Prefix>d/sub/</Prefix></CommonPrefixes></ListBucketResult>")
          .value();
  CHECK(page.keys == std::vector<std::string>{"d/a+b c"});
  CHECK(page.prefixes == std::vector<std::string>{"d/sub/"});
  CHECK(page.next == "t/1=");
}

TEST_CASE("a last page goes on nowhere, whatever token it has") {
  CHECK(read_s3_page("<ListBucketResult><IsTruncated>false</IsTruncated>"
                     "<NextContinuationToken>t</NextContinuationToken></ListBucketResult>")
            ->next.empty());
}

TEST_CASE("a list that goes on without saying where, or is none, is data loss") {
  CHECK(read_s3_page("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
            .status()
            .code() == Code::data_loss);
  CHECK(read_s3_page("<html><body>busy</body></html>").status().code() == Code::data_loss);
  CHECK(read_s3_page("{}").status().code() == Code::data_loss);
}

TEST_CASE("an error of S3 has a code and a message; other texts have none") {
  const S3Error error = read_s3_error(
      "<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code><Message>gone</Message></Error>");
  CHECK(error.code == "NoSuchKey");
  CHECK(error.message == "gone");
  CHECK(read_s3_error("<html><h1>502</h1></html>").code.empty());
  CHECK(read_s3_error("502").code.empty());
}

TEST_CASE("an upload has an id, and a copy an ETag") {
  CHECK(read_s3_upload("<InitiateMultipartUploadResult><Bucket>b</Bucket><UploadId>u+1</UploadId>"
                       "</InitiateMultipartUploadResult>")
            .value() == "u+1");
  CHECK(
      read_s3_etag("<CopyObjectResult><ETag>&quot;9b2c&quot;</ETag></CopyObjectResult>").value() ==
      "\"9b2c\"");
  CHECK(read_s3_upload("<InitiateMultipartUploadResult/>").status().code() == Code::data_loss);
}

TEST_CASE("an upload is completed by its parts in order, and its ETag is known before") {
  CHECK(s3_completion({"\"a\"", "<&"}) ==
        "<CompleteMultipartUpload>"
        "<Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>"
        "<Part><PartNumber>2</PartNumber><ETag>&lt;&amp;</ETag></Part>"
        "</CompleteMultipartUpload>");
  // The MD5 of the bytes that the MD5 of nothing, twice, has.
  CHECK(expected_s3_etag(
            {"\"d41d8cd98f00b204e9800998ecf8427e\"", "\"d41d8cd98f00b204e9800998ecf8427e\""}) ==
        "\"5873dd45edd01f09c1ef2e7819369e8e-2\"");
  CHECK(expected_s3_etag({"\"not a sum\""}).empty());
}

}  // namespace
}  // namespace millrace::remote
