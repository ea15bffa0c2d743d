// Package replays sends again, over ZeroMQ, what matched a subscription: for subscribers that were not there.
//
// It reads the notification stream itself, from a sequence or a time to its end, so that the order is that in which
// things were delivered, whatever there is of it is read in pages, and a sequence is all that a subscriber needs to keep.
// A notification is sent again at the place where its outcome is on record: what was matched at once and delivered later
// comes where it was delivered.
//
// A replay is bounded: in notifications and in time, at the end of which it says where to go on; to one for each
// subscription at a time; and to the pace of the subscribers. What it has sent is on record as one event.
package replays
