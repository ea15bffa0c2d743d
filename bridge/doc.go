// Package bridge carries what happened to the outside world: it turns device changes into notifications, matches
// notifications with subscriptions and hands them to each subscription's channels.
//
// The [Engine] follows the event stream. For every device change it records one notification, on the notification
// stream, with the subscriptions that matched as of that change; then it publishes on their channels, and then it
// records what became of each. A crash between two of these steps repeats the later ones: what matched is delivered at
// least once. The notification's id is derived from the event's, so a repeat is recognised and not recorded twice.
//
// ZeroMQ channels are in package zeromq, one PUB socket for each host and port.
package bridge
