// Libraries that only refuse, each in its own way, so that programs start and
// choose another path. Included once, by the library's .cc, which has defined
//
//   LIBRARY_TABLE     its .def
//   LIBRARY_REFUSAL   the status that its functions return
//
// and what it answers.
#ifndef CERBERUS_LIBRARIES_REFUSING_REFUSING_H_
#define CERBERUS_LIBRARIES_REFUSING_REFUSING_H_

#define LIBRARY_API extern "C" __attribute__((visibility("default")))

// Whatever the parameters are, none is read.
#define LIBRARY_ANSWERED(name)
#define LIBRARY_REFUSED(name) \
  LIBRARY_API int name() { return LIBRARY_REFUSAL; }
#include LIBRARY_TABLE

#endif  // CERBERUS_LIBRARIES_REFUSING_REFUSING_H_
