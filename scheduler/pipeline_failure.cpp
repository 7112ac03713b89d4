#include <exception>
#include <utility>
#include <vector>

#include "core/stage_error.hpp"
#include "scheduler/pipeline.hpp"

namespace sluice {
namespace {

/// Whether the work before `event` is known to have failed.
bool failed(const Event& event) {
    try {
        static_cast<void>(event.ready());
        return false;
    } catch (...) {  // already being reported
        return true;
    }
}

}  // namespace

/// A GPU's failure fails every event not yet observed, even of work completed before it.
bool Pipeline::has_failed_as_a_whole() {
    return retired_ < admitted_ && !slot(retired_).chunk.end_of_input() && failed(slot(retired_).upload_begun);
}

void Pipeline::throw_failure(std::uint64_t end, const std::exception_ptr& failure) {
    const Event* first = nullptr;  // earliest failed event of the compute stream
    const auto look_at = [&first](const Event& event) {
        if ((first == nullptr || event.ticket() < first->ticket()) && failed(event)) {
            first = &event;
        }
    };
    while (slot(end - 1).chunk.end_of_input()) {
        --end;
    }
    for (std::uint64_t i = retired_; i != end; ++i) {
        look_at(slot(i).forwarded);
        if (i < leaving_) {
            look_at(slot(i).computed);
        }
    }
    if (first == nullptr) {
        throw StageError(Stage::download, slot(retired_).chunk, failure);
    }
    std::uint64_t oldest = retired_;
    while (oldest < leaving_ && slot(oldest).computed.ticket() < first->ticket()) {
        ++oldest;
    }
    std::uint64_t last = oldest;
    while (last + 1 != end && slot(last + 1).forwarded.ticket() <= first->ticket()) {
        ++last;
    }
    if (slot(last).forwarded.ticket() == first->ticket() && failed(slot(last).uploaded)) {
        throw StageError(Stage::upload, slot(last).chunk, failure);
    }
    throw_compute_failure(oldest, last, failure);
}

void Pipeline::throw_compute_failure(std::uint64_t first, std::uint64_t last, const std::exception_ptr& failure) {
    std::vector<std::uint64_t> beside;
    for (std::uint64_t i = first + 1; i <= last; ++i) {
        beside.push_back(slot(i).chunk.id);
    }
    throw StageError(Stage::compute, slot(first).chunk, failure, std::move(beside));
}

}  // namespace sluice
