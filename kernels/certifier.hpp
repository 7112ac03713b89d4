#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"
#include "core/model.hpp"
#include "kernels/margin.hpp"
#include "kernels/operation.hpp"
#include "kernels/text_certifier.hpp"

namespace sluice {

struct CertifyShape {
    std::uint32_t input_bytes;  ///< Of one item.
    std::uint32_t classes;
    bool scores = false;      ///< Whether the results that leave hold the scores as well.
    std::uint32_t max_items;  ///< In a chunk.
    std::uint32_t batch;      ///< Items that the exact model computes at a time; it was made for as many.
};

/// Makes exact labels of a fast model's guesses: where those are uncertain, the exact model computes the item again.
/// All of it happens on the device; the host does not wait to hear how many those are. The exact model is told on the
/// device how many of a batch are active. Used by one driver.
///
/// In: the items; the fast model's results of them, int32 label, then the classes' fp32 scores. Out: results of the
/// same form, without the scores unless CertifyShape::scores. The result of a certain item has the guessed scores,
/// offsets added, and their first maximum; of an uncertain one what the exact model says. Items that are not active are
/// not computed again.
class Certifier : public Operation {
public:
    /// Before the first enqueue(); has arrived when this returns. margin.offsets.size() is the number of classes.
    virtual void set_margin(const Margin& margin) = 0;

    /// Items that the exact model computed in all that is done: wait for what was enqueued first.
    [[nodiscard]] virtual std::uint64_t recomputed() const = 0;
};

class CertifierKernels {
public:
    CertifierKernels() = default;
    CertifierKernels(const CertifierKernels&) = delete;
    CertifierKernels& operator=(const CertifierKernels&) = delete;
    virtual ~CertifierKernels() = default;

    /// `exact` is a model on `device` whose results hold label and scores; it outlives the certifier. For backends
    /// with inexact precisions; elsewhere a broken assumption.
    [[nodiscard]] virtual std::unique_ptr<Certifier> make_certifier(Device& device, const CertifyShape& shape,
                                                                    Model& exact) const = 0;

    /// The same of a writer of texts.
    [[nodiscard]] virtual std::unique_ptr<TextCertifier> make_text_certifier(Device& device,
                                                                             const TextCertifierShape& shape,
                                                                             TextWriter& exact) const = 0;
};

}  // namespace sluice
