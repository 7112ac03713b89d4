#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.hpp"
#include "core/device.hpp"
#include "core/interface.hpp"
#include "core/modes.hpp"

namespace sluice {

/// Items of which only the uncertain parts are recomputed at first.
struct CertificationChecks {
    std::uint64_t checked = 0;
    std::uint64_t corrected = 0;  ///< Of these, those recomputed from a part on that came out different.
    friend bool operator==(const CertificationChecks&, const CertificationChecks&) = default;
};

/// Statistics of a model that recomputes uncertain items, up to twice (Precision::certified).
struct Certification {
    /// The distance that is compared with the bound.
    enum class Measure : std::uint8_t {
        share,  ///< Between the two best scores, relative to the magnitude of the scores.
        gap,    ///< Between the two best scores.
        draw,   ///< From a draw to the nearest cumulative probability at which its result changes.
    };

    std::optional<CertificationChecks> checks{};  ///< Nullopt if items are always recomputed as a whole.
    std::uint64_t recomputed = 0;                 ///< Items recomputed as a whole.
    std::uint64_t recomputed_twice = 0;           ///< Of these, those still uncertain after the first recomputation.
    double bound = 0;                             ///< Items with a smaller distance were recomputed; infinite: all.
    Measure measure = Measure::share;
    std::optional<double> gap_bound{};  ///< Bound on the gap to excluded scores, if draws are among some scores only.
    friend bool operator==(const Certification&, const Certification&) = default;
};

template <>
inline constexpr std::array<std::string_view, 3> words_of<Certification::Measure>{"share", "gap", "draw"};

/// A counter of a model's work besides its items, summed over all devices for the report.
struct ModelCount {
    /// What the latency table prints beside the value.
    enum class Beside : std::uint8_t { rate, share_of_items };

    std::string name;  ///< E.g. "ended_early"; letters, digits and _.
    std::uint64_t value = 0;
    Beside beside = Beside::rate;
    friend bool operator==(const ModelCount&, const ModelCount&) = default;
};

/// Resources that a model may use on its device.
struct ModelRoom {
    std::uint32_t most_items = 1;             ///< Per chunk.
    std::uint64_t device_bytes = UINT64_MAX;  ///< Device memory in addition to the app's weights.
};

/// Chunk sizes that suit a model. Automatic chunk sizes respect them; a size set by the job need not.
struct ChunkLimits {
    std::uint32_t least = 1;  ///< Items; smaller chunks leave the device partly idle.
    std::uint32_t most = UINT32_MAX;
    std::uint32_t multiple = 1;  ///< Items that fill whole waves of the device; 1: to be measured.
};

/// A model on one device, with its own workspace. Made once and used by one driver.
class Model : public Interface {
public:
    [[nodiscard]] virtual IoShape shape() const noexcept = 0;

    /// Enqueues the work that computes `items` outputs at `out` from `items` inputs at `in`, both in device memory. The
    /// outputs depend on the inputs, the weights and `items` only. `items` is at most ModelRoom::most_items. Equal
    /// arguments enqueue equal work: state that changes between chunks stays on the device, because a device may
    /// capture the work and launch it again (Stream::launch).
    virtual void forward(Stream& stream, std::size_t items, std::span<const std::byte> in,
                         std::span<std::byte> out) = 0;

    /// Number of chunks that the model holds back, so that it can start the next chunk before the last items of the
    /// earlier ones are done. The outputs of a forward() are complete after the work of `lag()` later forward() calls
    /// or of a finish(). Until then its input and output stay alive and nobody else writes them. Constant.
    [[nodiscard]] virtual std::uint32_t lag() const noexcept { return 0; }

    /// Enqueues the work that completes the outputs of every forward() so far; forward() may follow. Called at the end
    /// of the input and whenever no further chunk has arrived yet, at arbitrary times: outputs must not depend on it.
    /// Enqueues equal work each time, like forward(). Never called if lag() is 0.
    virtual void finish([[maybe_unused]] Stream& stream) {}

    /// forward() for the first `*active` items only: device memory, read when the work runs. The outputs of the other
    /// items are unspecified, and their work may be skipped.
    virtual void forward_active(Stream& stream, std::size_t items, [[maybe_unused]] const std::uint32_t* active,
                                std::span<const std::byte> in, std::span<std::byte> out) {
        forward(stream, items, in, out);
    }

    /// Calibrates the model with `sample`, some of the job's items, equal on every device. Called before the first
    /// forward() if LoadedApp::sample_items() is not 0. Blocks until done.
    virtual void calibrate([[maybe_unused]] Stream& stream, [[maybe_unused]] std::span<const std::byte> sample) {}

    /// Statistics so far; call once the enqueued work is done. nullopt if every item is computed once.
    [[nodiscard]] virtual std::optional<Certification> certification() const { return std::nullopt; }

    /// Counters so far; call once the enqueued work is done. All models of an app return equal names in equal order.
    [[nodiscard]] virtual std::vector<ModelCount> counts() const { return {}; }
};

}  // namespace sluice
