// The limit of open files of this process.
#pragma once

#include <string>

namespace ronde {

// A soft limit below the hard one is there for programs that count descriptors in a bit set, and must not end a job.
void raise_open_file_limit();

// "the limit of open files is 64 here: raise it (ulimit -n 1024, or LimitNOFILE= of a service)".
[[nodiscard]] std::string open_file_limit_text();

}  // namespace ronde
