#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.hpp"
#include "core/interface.hpp"
#include "core/model.hpp"
#include "kernels/margin.hpp"
#include "kernels/operation.hpp"
#include "kernels/text_certifier.hpp"

namespace sluice {

struct CertifyShape {
    std::uint32_t input_bytes;  ///< Of one item.
    std::uint32_t classes;
    bool scores = false;       ///< Whether output results hold the scores, too.
    std::uint32_t most_items;  ///< In a chunk.
    std::uint32_t batch;       ///< Items that the exact model computes at a time: its maximum.
};

/// Replaces a fast model's uncertain labels by exact ones: the exact model recomputes those items. Everything happens
/// on the device, without a host round trip for their number; the exact model reads from device memory how many items
/// of a batch are active. Used by one driver.
///
/// In: the items; the fast model's results, int32 label, then the classes' fp32 scores. Out: results of the same form,
/// with scores only if CertifyShape::scores. The result of a certain item is the fast scores plus offsets, and the
/// first class with the largest; of an uncertain one, the exact model's. Inactive items are not recomputed.
class Certifier : public Operation {
public:
    /// Before the first enqueue(). Blocks until copied. margin.offsets.size() is the number of classes.
    virtual void set_margin(const Margin& margin) = 0;

    /// Items that the exact model has computed. Call once the enqueued work is done.
    [[nodiscard]] virtual std::uint64_t recomputed() const = 0;
};

class CertifierKernels : public Interface {
public:
    /// `exact` is a model on `device` whose results hold label and scores; it outlives the certifier. Throws
    /// ContractViolation for a backend without inexact precisions.
    [[nodiscard]] virtual std::unique_ptr<Certifier> make_certifier(Device& device, const CertifyShape& shape,
                                                                    Model& exact) const = 0;

    /// The same for a text writer.
    [[nodiscard]] virtual std::unique_ptr<TextCertifier> make_text_certifier(Device& device,
                                                                             const TextCertifierShape& shape,
                                                                             TextWriter& exact) const = 0;
};

}  // namespace sluice
