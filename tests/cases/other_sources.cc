// In place of the library's own: a program with this comes from other sources of the same version.
#include "base/source_digest.h"

namespace ronde {

std::string_view source_digest() { return "0123456789ab"; }

}  // namespace ronde
