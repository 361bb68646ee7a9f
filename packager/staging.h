// A folder that appears whole or not at all, and what is kept until then.
//
// What is made for "out" is put into ".out.cerberus" beside it:
//
//   tree/   what will be "out"
//   code/   what took long to make; whoever is killed and runs again finds it
//   lock    held while one is at work
#ifndef CERBERUS_PACKAGER_STAGING_H_
#define CERBERUS_PACKAGER_STAGING_H_

#include <string>

#include "packager/tree/tree.h"
#include "support/result.h"

namespace cerberus::packager {

class Staging {
 public:
  // Takes over what an earlier one left: its code/ stays, its tree/ goes.
  // Errors: there is something called `output`; another one is at work; what is
  // in the place of the folder is none of ours.
  static Result<Staging> Create(const std::string& output);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  // Removes the tree, unless it was committed; the code if there is none.
  ~Staging();

  std::string tree() const { return folder_ + "/tree"; }
  std::string code() const { return folder_ + "/code"; }
  // Code of an earlier run was there, or there is some now.
  bool HasCode() const;

  // Gives the tree its name, once its bytes are on the disk. Errors: something
  // has taken that name.
  Status Commit();

 private:
  Staging() = default;
  void RemoveFolder();

  std::string output_;
  std::string folder_;
  Descriptor lock_;
};

// Whether nothing has that name, not even a link that leads nowhere.
bool IsFree(const std::string& path);

}  // namespace cerberus::packager

#endif  // CERBERUS_PACKAGER_STAGING_H_
