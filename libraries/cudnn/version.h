// What differs between the versions of cuDNN: how a status is told, and which
// version is said to be here. Made for each of them.
#ifndef CERBERUS_LIBRARIES_CUDNN_VERSION_H_
#define CERBERUS_LIBRARIES_CUDNN_VERSION_H_

#include "libraries/cudnn/abi.h"

namespace cerberus::libraries::cudnn {

// A status as this version has it; its members are what programs compare with.
enum Told : int {};
Told ToldOf(Status status);
Status StatusOf(Told told);

struct Version {
  int major, minor, patch;
  int number;  // as cudnnGetVersion says it
};
extern const Version kVersion;

}  // namespace cerberus::libraries::cudnn

#endif  // CERBERUS_LIBRARIES_CUDNN_VERSION_H_
