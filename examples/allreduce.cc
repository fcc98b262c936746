// The average of every rank's gradients, as allreduce.c, in C++.
//
//   ronderun -n 4 example_allreduce_cc
#include <cstdlib>
#include <iostream>
#include <ronde/ronde.hpp>
#include <vector>

int main() try {
  const ronde::Communicator comm = ronde::Communicator::world();
  const int rank = comm.rank();

  std::vector<float> gradients(1000);
  for (size_t i = 0; i < gradients.size(); ++i) gradients[i] = static_cast<float>(rank) + static_cast<float>(i);
  comm.all_reduce(gradients, rondeAvg);

  const float expected = static_cast<float>(comm.size() - 1) / 2;
  if (rank == 0) std::cout << comm.size() << " ranks, average of the first gradient: " << gradients[0] << "\n";
  return gradients[0] == expected ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const ronde::Error& error) {
  std::cerr << error.what() << "\n";
  return EXIT_FAILURE;
}
