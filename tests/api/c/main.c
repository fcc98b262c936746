/* Every function of ronde.h from C11, and every result that it documents for each of them:
 *
 *   api_c PART                  one of kParts, below
 *   api_c helper ROLE NUMBER    what parts start as further ranks
 *
 * Exit code 77: the part needs something that this machine does not allow; it says what. */
#include <stdio.h>

#include "api/c/observe.h"
#include "api/c/parts.h"
#include "api/c/ranks.h"

static const struct {
  const char* name;
  void (*run)(void);
} kParts[] = {
    {"all_alike", part_all_alike},     {"failures", part_failures},       {"late", part_late},
    {"starts", part_starts},           {"memory", part_memory},           {"streams", part_streams},
    {"groups", part_groups},           {"children", part_children},       {"questions", part_questions},
    {"collectives", part_collectives}, {"no_files", part_no_files},       {"no_threads", part_no_threads},
    {"meeting", part_meeting},         {"unreachable", part_unreachable}, {"cut_off", part_cut_off},
    {"succession", part_succession},
};
static const struct {
  const char* name;
  void (*run)(int rank);
} kRoles[] = {
    {"makes_id", helper_makes_id},
    {"dies_as_it_starts", helper_dies_as_it_starts},
    {"waits", helper_waits},
    {"dies_as_it_shrinks", helper_dies_as_it_shrinks},
};

int main(int argc, char** argv) {
  rondeSetLogLevel(rondeLogNone);
  end_after(100);
  if (argc == 2) {
    for (size_t i = 0; i < sizeof kParts / sizeof kParts[0]; ++i) {
      if (strcmp(kParts[i].name, argv[1]) != 0) continue;
      if (getenv("TEST_OBSERVED") != NULL) remove(getenv("TEST_OBSERVED"));
      kParts[i].run();
      return 0;
    }
  }
  if (argc == 4 && strcmp(argv[1], "helper") == 0) {
    for (size_t i = 0; i < sizeof kRoles / sizeof kRoles[0]; ++i) {
      if (strcmp(kRoles[i].name, argv[2]) != 0) continue;
      kRoles[i].run(atoi(argv[3]));
      return 0;
    }
  }
  fprintf(stderr, "usage: api_c PART\n");
  return 2;
}
