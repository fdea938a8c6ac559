#include "millrace/mapreduce/output.h"

#include <filesystem>
#include <utility>

#include "millrace/io/records.h"

namespace millrace::mapreduce {

Output::Output(std::string folder) { *this = text_output(std::move(folder)); }

Output::Output(std::string folder, std::string suffix, Written record)
    : suffix_(std::move(suffix)), record_(std::move(record)) {
  if (folder.empty()) return;
  folder_ = std::filesystem::absolute(folder).lexically_normal().string();
  if (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
}

// A record for each component: Filling reads them.
Output::Output(std::string folder, ResultQueue queue)
    : Output(std::move(folder), ".elements",
             [element = queue.element](std::string* text, std::string_view key,
                                       std::string_view value) {
               if (!element) {
                 *text += io::framed_record(key);
                 *text += io::framed_record(value);
                 return;
               }
               std::string bytes;
               element(&bytes, key, value);
               *text += io::framed_record(bytes);
             }) {
  queue_ = std::move(queue);
}

Output text_output(std::string folder, Written line) {
  if (!line)
    return {std::move(folder), ".txt",
            [](std::string* text, std::string_view key, std::string_view value) {
              text->append(key).append(1, '\t').append(value).append(1, '\n');
            }};
  return {
      std::move(folder), ".txt",
      [line = std::move(line)](std::string* text, std::string_view key, std::string_view value) {
        line(text, key, value);
        *text += '\n';
      }};
}

Output record_output(std::string folder, Written record) {
  return {std::move(folder), ".tfrecord",
          [record = std::move(record)](std::string* text, std::string_view key,
                                       std::string_view value) {
            if (!record) {
              *text += io::framed_record(value);
              return;
            }
            std::string bytes;
            record(&bytes, key, value);
            *text += io::framed_record(bytes);
          }};
}

Output queue_output(std::string folder, ResultQueue queue) {
  return {std::move(folder), std::move(queue)};
}

}  // namespace millrace::mapreduce
