// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <prefer/core/state.hpp>
#include <prefer/errors.hpp>
#include <prefer/online/preference_record.hpp>

namespace prefer::online {

/// Recorded preferences in the order of their recording: all of them, or the newest `capacity`.
///
/// Append-only: a record never changes, and in a bounded store the oldest makes room for the next.
/// Records are numbered from 0 as they are appended, and keep their numbers; the store holds the
/// numbers `first()` to `total() - 1`. `store[i]` is the i-th oldest of those kept; `at(number)`
/// is the record of that number.
///
/// A `replay_reader` of `size()` records decides in which order they are read again: window 1 is
/// the data set D_online of arXiv:2405.08448, section 5.1, `whole_record` its D_online-shuffled,
/// what lies between its appendix G. In a bounded store that grows while it is read, `store[i]`
/// moves on with the oldest record; there, read by number:
///
/// <!-- snippet: tests/unit/online/preference_store.cpp -->
/// ```cpp
/// auto const first = store.first();
/// replay_reader reader(store.size(), {.batch = 4, .window = 2}, rng);
/// while (reader.left() > 0) use(store.at(first + reader.next()));
/// ```
///
/// `append` is amortised O(1), all other members but `save` and `load` are O(1). Memory is that of
/// the records kept, 72 bytes each, and grows with them: a capacity reserves nothing.
class preference_store {
public:
    static constexpr ::std::uint64_t unbounded = ::std::numeric_limits<::std::uint64_t>::max();

    /// Keeps the newest `capacity` records. Throws `value_error` for a capacity of 0.
    explicit preference_store(::std::uint64_t capacity = unbounded) : capacity_(capacity) {
        detail::require(capacity > 0, "online::preference_store", "capacity", capacity,
                        "at least 1");
    }

    ::std::uint64_t capacity() const { return capacity_; }

    /// Records kept.
    ::std::size_t size() const { return records_.size(); }

    /// Records ever appended; the number that the next one gets.
    ::std::uint64_t total() const { return total_; }

    /// The number of the oldest record kept; `total()` where there is none.
    ::std::uint64_t first() const { return total_ - records_.size(); }

    /// Adds a record and returns its number. Throws `value_error`, and adds nothing, for what
    /// `preference_record` names: a NaN score, a response against itself, an unknown source.
    ::std::uint64_t append(preference_record const& record) {
        if (auto const fault = detail::record_fault(record); !fault.empty()) {
            throw value_error("prefer::online::preference_store::append: " + fault);
        }
        if (records_.size() < capacity_) {
            records_.push_back(record);
        } else {
            records_[slot(total_)] = record;
        }
        return total_++;
    }

    /// The record that is `i`-th by age, 0 the oldest kept. Throws `value_error` from `size()` on.
    preference_record const& operator[](::std::size_t i) const {
        if (i >= size()) {
            throw value_error(detail::message("prefer::online::preference_store: index ", i,
                                              ", but ", size(), " records are kept"));
        }
        return records_[slot(first() + i)];
    }

    /// The record of that number. Throws `value_error` where it has been overwritten or is not
    /// there yet.
    preference_record const& at(::std::uint64_t number) const {
        if (number < first() || number >= total_) {
            throw value_error(detail::message("prefer::online::preference_store::at: number ",
                                              number, ", but the numbers kept are from ", first(),
                                              " to below ", total_));
        }
        return records_[slot(number)];
    }

    void save(state_writer& out, ::std::string const& name) const {
        out.put(name + ".shape", ::std::vector<::std::uint64_t>{capacity_, total_});
        ::std::vector<::std::uint64_t> all;
        all.reserve(size() * detail::record_words{}.size());
        for (::std::size_t i = 0; i < size(); ++i) {
            auto const words = detail::words_of_record((*this)[i]);
            all.insert(all.end(), words.begin(), words.end());
        }
        out.put(name + ".records", all);
    }

    /// Takes the saved records in place of its own. Throws `state_error`, and changes nothing,
    /// where the saved store has another capacity, other than the newest of its records, or one
    /// that `append` refuses.
    void load(state_reader& in, ::std::string const& name) {
        ::std::vector<::std::uint64_t> shape;
        ::std::vector<::std::uint64_t> all;
        in.get(name + ".shape", shape);
        in.get(name + ".records", all);
        if (shape.size() != 2 || shape[0] != capacity_) refuse("has another capacity");
        preference_store read(capacity_);
        detail::record_words words{};
        if (all.size() % words.size() != 0) refuse("ends inside a record");
        read.records_.resize(all.size() / words.size());
        read.total_ = shape[1];
        if (read.size() != ::std::min(read.total_, capacity_)) {
            refuse(detail::message("has ", read.size(), " records of ", read.total_));
        }
        for (::std::size_t i = 0; i < read.size(); ++i) {
            ::std::copy_n(all.data() + i * words.size(), words.size(), words.data());
            if (!detail::read_record(words, read.records_[read.slot(read.first() + i)])) {
                refuse(detail::message("has no record at ", i));
            }
        }
        *this = ::std::move(read);
    }

private:
    [[noreturn]] static void refuse(::std::string const& why) {
        throw state_error("prefer::online::preference_store::load: the saved store " + why);
    }

    ::std::size_t slot(::std::uint64_t number) const {
        return static_cast<::std::size_t>(number % capacity_);
    }

    ::std::uint64_t capacity_;
    ::std::uint64_t total_ = 0;
    ::std::vector<preference_record> records_;
};

}  // namespace prefer::online
