package main

import (
	"slices"
	"strings"
)

// fixedSettings are settings of earlier versions whose values are fixed now. docs/reference/limits.md has the values.
var fixedSettings = strings.Fields(`
	callback-answer-bytes callback-concurrency callback-give-up callback-queue callback-timeout callback-tries callback-validation-timeout
	connect-timeout delivery-at-once delivery-concurrency delivery-longest-pause delivery-longest-wait delivery-queue idempotency-answers
	limit-batch limit-change-bytes limit-client-connections limit-connections limit-read-rate limit-requests limit-secret-bytes
	limit-service-connections mqtt-connections mqtt-idle-time replay-concurrency replay-limit replay-time replay-wait rest-idle-connections
	shutdown-timeout tap-connections tap-memory zeromq-all-queue-bytes zeromq-all-topic-bytes zeromq-handshake-time zeromq-linger
	zeromq-max-frame zeromq-peers zeromq-peers-per-address zeromq-queue-bytes zeromq-queue-messages zeromq-sockets zeromq-stall-time
	zeromq-subscribers zeromq-topic-bytes zeromq-topics`)

// removedSetting says why a setting of an earlier version is refused; "" for a name that never was a setting.
func removedSetting(name string) string {
	switch {
	case name == "sync":
		return "; it was removed: all changes that wait share one fsync. Leave it out"
	case slices.Contains(fixedSettings, name):
		return "; it was removed: its value is fixed, see docs/reference/limits.md. Leave it out"
	}
	return ""
}
