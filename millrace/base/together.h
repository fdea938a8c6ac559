// Together: says that a thread is about to answer many at once.
//
// Who ends a wait of fifty calls knows that fifty answers follow; who writes them to one socket
// sees them one by one, and a call of the system costs more than an answer. While one of these
// lives, the writer may leave its writing to another thread that is awake, which finds many answers
// by the time that it comes to it. Nothing waits for this thread to go on.
//
//   Together together;
//   for (Done<void>& done : group) done(status);
#pragma once

namespace millrace {

class Together {
 public:
  Together() { ++depth_; }
  ~Together() { --depth_; }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  // Whether there is one on this thread.
  static bool is_now() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace millrace
