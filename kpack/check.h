// Reads all that an archive holds and says what is wrong with it.
#ifndef CERBERUS_KPACK_CHECK_H_
#define CERBERUS_KPACK_CHECK_H_

#include <functional>
#include <vector>

#include "kpack/reader.h"

namespace cerberus::kpack {

// What is wrong, an entry at a time: blobs that do not match their checksums
// or cannot be unpacked, PTX that is not what its content key says. `look` is
// called with each blob that could be read and one of its entries, and adds
// what it finds wrong.
std::vector<Diag> CheckArchive(
    const Archive& archive,
    const std::function<void(const Entry&, const Bytes&, std::vector<Diag>&)>&
        look = nullptr);

// A finding on an entry: "a.kpack: 'app#0' for gfx1100: <message>".
Diag EntryDiag(const Archive& archive, const Entry& entry,
               const std::string& message,
               DiagCode code = DiagCode::kBadFormat);

}  // namespace cerberus::kpack

#endif  // CERBERUS_KPACK_CHECK_H_
