// BoundedRunner: at most so many threads of another runner at a time.
//
// What is posted while all of its places are taken waits in order and runs when one becomes free,
// on the thread that frees it. Whoever made it may drop it while tasks wait: they still run. The
// other runner must stay as long as any do. Any thread may call.
#pragma once

#include <memory>

#include "millrace/base/runner.h"

namespace millrace {

class BoundedRunner final : public Runner {
 public:
  // Requires places >= 1.
  BoundedRunner(Runner& runner, int places);
  ~BoundedRunner() override;
  void post(Task task) override;

 private:
  class Places;
  const std::shared_ptr<Places> places_;
};

}  // namespace millrace
