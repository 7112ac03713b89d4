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
    open,  ///< Read all chunks of the unsealed part; compare the sizes of sealed parts.
    all,   ///< Read sealed parts as well.
};

/// What an attempt starts with: the chunks that earlier attempts have finished, without a gap from chunk 0 on, in this
/// attempt's own files.
struct Adopted {
    std::vector<SealedPart> sealed{};           ///< Parts 0, 1, ….
    std::optional<PartWriter> open{};           ///< The next part, if some of its chunks are finished.
    std::vector<std::uint64_t> failed_items{};  ///< Items of these chunks without a result.
    std::uint64_t chunks = 0;                   ///< All chunks before this one are committed.
    std::vector<std::string> dropped{};         ///< One line per damaged piece, which is computed again.
    std::vector<std::string> damaged_parts{};   ///< The same for sealed parts, which were intact when sealed.
};

/// Takes over what the attempts before `attempt` have finished. Reads each of their journals once and first records the
/// accepted lengths in adopt.json. Links (or copies) sealed parts into the attempt's folder; of the part after them,
/// copies each chunk whose checksum is right, up to the first that no attempt has. Adds all of them to `journal`, so
/// that earlier attempts are no longer needed. Throws Error (io_error).
[[nodiscard]] Adopted adopt(const AttemptFolder& attempt, Journal& journal, const PartPlan& plan,
                            const FileHeader& header, ResumeVerify verify);

}  // namespace sluice
