// Numbers in columns of fixed width: decimals go first, then comes e-notation.
#pragma once

#include <string>

namespace perf {

// Right-aligned in width characters, with two decimals if they fit. Wider only if even "1e+09" does not fit.
std::string to_width(double value, int width);

// The same for a count, without decimals.
std::string count_to_width(unsigned long long value, int width);

}  // namespace perf
