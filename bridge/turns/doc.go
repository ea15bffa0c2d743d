// Package turns decides whose call to the outside is next where only so many may be under way: calls to slow receivers must leave
// room for calls to fast ones.
//
// A call has one of three shares: that of receivers that are fast or not known yet, that of slow ones, or that of receivers whose last call
// failed. The last two are half as large as the first, and one host has half of each at most. A receiver is slow from when a call to it takes
// longer than [Slow] until one takes less. A quarter of the first share is for receivers that are known to be fast.
//
// A call that turns out slow moves to the share of the slow ones at once. While that is full, the call stays where it is, and may be cut off
// when another one needs its place; then it is made again in the share of the slow ones. That happens to a receiver once: then it is known.
package turns
