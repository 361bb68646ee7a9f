// Random programs whose lanes meet by a mask.
#ifndef CERBERUS_TESTS_EXEC_JOIN_PROGRAMS_H_
#define CERBERUS_TESTS_EXEC_JOIN_PROGRAMS_H_

#include <cstdint>

#include "tests/exec/lane_program.h"

namespace cerberus::exec {

// How far apart lanes that meet may stand.
enum class Level {
  kTogether,  // all lanes that are alive execute each instruction at once
  kSides,     // on the sides of a branch, in rounds of one loop: behind the
              // place where all are together again, each has had as many
  kBehind,    // also in places behind each other
};

// A program whose lanes cannot wait for ever.
Program RandomProgram(std::uint64_t seed, Level level);

}  // namespace cerberus::exec

#endif  // CERBERUS_TESTS_EXEC_JOIN_PROGRAMS_H_
