// Package delivery brings notifications to the channels that take time: those over the network, and whatever failed at
// its first try.
//
// What is to be delivered is on record: the open transmissions of the notification stream. [Delivery] takes those that
// are there at the start and follows the stream for new ones; what becomes of a try is recorded on it and comes back the
// same way. So a crash loses nothing, and repeats the tries that were under way.
//
// Each endpoint has a queue of its own, a bound of sends at once, and a pause after failures, during which nothing is
// tried there: nobody waits for somebody else's endpoint.
package delivery
