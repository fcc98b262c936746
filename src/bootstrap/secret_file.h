// RONDE_SECRET_FILE: what the processes of a job on several hosts share, and the id that all of them derive from it.
#pragma once

#include <string>

#include "base/secret.h"
#include "base/status.h"
#include "bootstrap/unique_id.h"

namespace ronde {

// Reads the file. rondeInvalidUsage, with the way to make one: it is missing, open to others than its owner, shorter
// than 32 bytes, or no plain file.
Result<Secret> read_secret_file(const std::string& path);

// The id that follows from the secret and the place of the meeting; without addresses. Equal in all processes.
[[nodiscard]] UniqueId derive_id(const Secret& secret, uint16_t port);

}  // namespace ronde
