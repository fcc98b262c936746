// Elements of every type as numbers, and what a reduction of them must give. Independent of the library's arithmetic.
#pragma once

#include <ronde/ronde.h>

#include <cstddef>
#include <string>
#include <vector>

namespace ronde::cases {

const std::vector<rondeDataType_t>& all_types();
const std::vector<rondeDataType_t>& float_types();
const std::vector<rondeRedOp_t>& all_ops();
std::string name_of(rondeDataType_t type);
std::string name_of(rondeRedOp_t op);
bool is_float(rondeDataType_t type);
size_t bytes_of(rondeDataType_t type);

// Writes a number into element `index`: floats are rounded to nearest, ties to even; integers must be below 2^53.
void put(rondeDataType_t type, void* elements, size_t index, double value);
double get(rondeDataType_t type, const void* elements, size_t index);

// The right result by the rules of ronde.h, if every step of it can be represented; `inputs` has one number a rank.
double reduced(rondeDataType_t type, rondeRedOp_t op, const std::vector<double>& inputs);

}  // namespace ronde::cases
