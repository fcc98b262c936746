/* The parts of the program, each a test of its own, and the roles of its helpers. */
#pragma once

#include "ronde/ronde.h"

void part_all_alike(void);
void part_failures(void);
void part_late(void);
void part_starts(void);
void part_memory(void);
void part_streams(void);
void part_groups(void);
void part_children(void);
void part_questions(void);
void part_collectives(void);
void part_no_files(void);
void part_no_threads(void);
void part_meeting(void);
void part_unreachable(void);
void part_cut_off(void);
void part_succession(void);

/* Of a rank with this number, in a process of its own. */
void helper_makes_id(int rank);
void helper_dies_as_it_starts(int rank);
void helper_waits(int rank);
void helper_dies_as_it_shrinks(int rank);

/* A log callback that ends the process, with exit code 9, while it starts a communicator. */
void end_in_the_middle(rondeLogLevel_t level, const char* message, void* user);
