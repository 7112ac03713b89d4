#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/commit/attempt_folder.hpp"
#include "core/commit/journal.hpp"
#include "core/commit/part_plan.hpp"
#include "core/commit/part_writer.hpp"

namespace sluice {

enum class ResumeVerify {
    open,  ///< Read every chunk of the part that was not sealed; of sealed ones compare the size.
    all,   ///< Read sealed parts as well.
};

/// What an attempt begins with: everything that earlier attempts have finished, without a gap from chunk 0 on, in files
/// of its own.
struct Adopted {
    std::vector<SealedPart> sealed{};           ///< Parts 0, 1, ….
    std::optional<PartWriter> open{};           ///< The next part, when some of its chunks are there.
    std::vector<std::uint64_t> failed_items{};  ///< Of those chunks.
    std::uint64_t chunks = 0;                   ///< All chunks before this one are committed.
    std::vector<std::string> dropped{};         ///< What was found damaged, a line each: it is computed again.
    std::vector<std::string> damaged_parts{};  ///< The same of parts that were sealed: the disk has changed them since.
};

/// Takes over what the attempts before `attempt` have finished. Their journals are read once, and the lengths accepted
/// are written to adopt.json before anything else happens. Sealed parts become links (or copies) in the attempt's
/// folder; of the part after them, each chunk whose bytes have their checksum is copied, up to the first that nobody
/// has. Then they are entries of `journal`, so that older attempts are not needed any more. Throws Error (io_error).
[[nodiscard]] Adopted adopt(const AttemptFolder& attempt, Journal& journal, const PartPlan& plan,
                            const FileHeader& header, ResumeVerify verify);

}  // namespace sluice
