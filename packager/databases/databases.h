// Files beside ROCm's libraries that hold kernels or tables for one kind of
// GPU: who does not have that GPU does not need them.
//
// A recogniser looks at a path in the tree and at nothing else, so that it says
// the same of a wheel's file as of an installed one. To add one: a file like
// rocblas.cc and its row in databases.def.
#ifndef CERBERUS_PACKAGER_DATABASES_DATABASES_H_
#define CERBERUS_PACKAGER_DATABASES_DATABASES_H_

#include <string>
#include <string_view>

namespace cerberus::packager {

struct DatabaseFile {
  std::string_view database;  // "rocBLAS"; empty: the file is in none
  // The target that it is for, "gfx942", "gfx90a:xnack+", or a family of them,
  // "gfx11xx"; empty: for no single one, as with a database's index.
  std::string target;
};

// By the first recogniser that knows the path.
DatabaseFile RecogniseDatabase(std::string_view path);

// The recognisers: the target, or "".
#define CERBERUS_DATABASE(name, Function) \
  std::string Function(std::string_view path);
#include "packager/databases/databases.def"
#undef CERBERUS_DATABASE

// What they are made of.

// The target id that begins at the start of `text` and ends before a character
// that cannot go on with it: "gfx90a-xnack+.co" → "gfx90a:xnack+",
// "gfx11-generic.dat" → "gfx11-generic". "" if there is none.
std::string TargetAt(std::string_view text);
// The first that stands in the text behind a '_', '-' or '.', or at its start.
std::string TargetIn(std::string_view text);

// The part of a path below the first run of folders that is `folders`
// ("rocblas/library"); empty if there is none.
std::string_view Below(std::string_view path, std::string_view folders);
std::string_view FileName(std::string_view path);
bool EndsWith(std::string_view text, std::string_view end);

// Of the libraries that Tensile makes: by the file's name, or by the folder
// "gfx942/" of newer releases, in which all files are for that GPU.
std::string TensileTarget(std::string_view path, std::string_view folders);

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_DATABASES_DATABASES_H_
