#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/mpi_session.hpp"

namespace sluice {

/// Pending nonblocking messages, each with a `Note` for its completion. Up to `capacity` at once; allocates nothing
/// after construction.
template <class Note>
class PendingMessages {
public:
    explicit PendingMessages(std::size_t capacity) : indices_(capacity), finished_(capacity), statuses_(capacity) {
        requests_.reserve(capacity);
        notes_.reserve(capacity);
    }

    /// For the call that starts the message: `MPI_Isend(…, &pending.add(note))`.
    [[nodiscard]] MPI_Request& add(const Note& note) {
        expects(requests_.size() < requests_.capacity(), "PendingMessages: more messages under way than planned");
        notes_.push_back(note);
        return requests_.emplace_back(MPI_REQUEST_NULL);
    }

    /// Calls `visit(note, status)`, which may add messages, for every completed one. Returns false if none was.
    template <class Visit>
    [[nodiscard]] bool test(Visit visit) {
        if (requests_.empty()) {
            return false;
        }
        int count = 0;
        check_mpi(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                               statuses_.data()),
                  "MPI_Testsome");
        if (count == 0 || count == MPI_UNDEFINED) {
            return false;
        }
        const auto finished = static_cast<std::size_t>(count);
        for (std::size_t i = 0; i < finished; ++i) {
            finished_[i] = notes_[static_cast<std::size_t>(indices_[i])];
        }
        remove_finished();
        for (std::size_t i = 0; i < finished; ++i) {
            visit(finished_[i], statuses_[i]);
        }
        return true;
    }

    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }

    /// Cancels receives that will never be matched.
    void cancel_all() {
        for (MPI_Request& request : requests_) {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        requests_.clear();
        notes_.clear();
    }

private:
    void remove_finished() {  // MPI_Testsome sets them to MPI_REQUEST_NULL
        std::size_t kept = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (requests_[i] != MPI_REQUEST_NULL) {
                requests_[kept] = requests_[i];
                notes_[kept++] = notes_[i];
            }
        }
        requests_.resize(kept);
        notes_.resize(kept);
    }

    std::vector<MPI_Request> requests_;
    std::vector<Note> notes_;
    std::vector<int> indices_;
    std::vector<Note> finished_;
    std::vector<MPI_Status> statuses_;
};

}  // namespace sluice
