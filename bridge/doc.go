// Package bridge carries what happened to the outside world: it turns device changes into notifications, matches
// notifications with subscriptions and hands them to each subscription's channels.
//
// The [Engine] follows the event stream. For every device change it makes one notification, publishes it on the channels
// of the subscriptions that matched as of that change, and records the notification and what became of it on the
// notification stream, which also says how far the engine is. A crash before the record repeats the delivery: what
// matched is delivered at least once. The notification's id is derived from the event's, so it is on record once.
//
// ZeroMQ channels are in package zeromq, one PUB socket for each host and port. What takes time, or failed at its first
// try, is on record as an open transmission and is brought to its channel by package delivery.
package bridge
