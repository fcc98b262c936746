// Where the ranks meet: the root of the first communicator, which lives in ronderun as long as the job.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace ronde::launcher {

class Meeting {
 public:
  // Listens and serves on a thread of its own, by the RONDE_* settings of the environment.
  static Result<std::unique_ptr<Meeting>> create();
  virtual ~Meeting() = default;
  // Names the meeting and lets into it: secret.
  [[nodiscard]] virtual const std::string& id_text() const = 0;
};

}  // namespace ronde::launcher
