package domain

// The indexes that a [Filter] may name. Which of them an entity has is listed in projections/indexes.go.
const (
	IndexLabel          = "label"
	IndexManufacturer   = "manufacturer"
	IndexModel          = "model"
	IndexProfile        = "profile"
	IndexService        = "service"
	IndexCategory       = "category"
	IndexReceiver       = "receiver"
	IndexStatus         = "status"
	IndexSubscription   = "subscription"
	IndexNotification   = "notification"
	IndexEndpoint       = "endpoint" // of open transmissions; see Channel.Target
	IndexDevice         = "device"
	IndexResource       = "resource"
	IndexDeviceResource = "device resource" // of readings; see DeviceResourceKey
	IndexSource         = "source"          // of events of core-data; see SourceKey
	IndexDigest         = "digest"          // of readings whose value is beside the log

	// IndexState has devices that are DOWN or LOCKED, and no others.
	IndexState = "state"
	// IndexAttention has the notifications that an operator should look at; see [Attention].
	IndexAttention = "attention"
	// IndexAcknowledged has acknowledged notifications at [Acknowledged], and no others.
	IndexAcknowledged = "acknowledged"
	// IndexTime has the created time of notifications and transmissions, in milliseconds since the Unix epoch, and the
	// origin of core-data's events and their readings, in nanoseconds: see [Filter].From.
	IndexTime = "between"
)

// The values in IndexAttention.
const (
	AttentionFailed       = "failed"        // a transmission was given up
	AttentionFailedOpen   = "failed open"   // the same, and the notification is not acknowledged
	AttentionCriticalOpen = "critical open" // the notification is CRITICAL and not acknowledged
)

// Attention appends the values that a notification has in IndexAttention.
func Attention(dst []string, n Notification) []string {
	if n.Failed > 0 {
		dst = append(dst, AttentionFailed)
		if !n.Acknowledged {
			dst = append(dst, AttentionFailedOpen)
		}
	}
	if n.Severity == SeverityCritical && !n.Acknowledged {
		dst = append(dst, AttentionCriticalOpen)
	}
	return dst
}

// Troubled appends the states of a device that IndexState has: DOWN and LOCKED.
func Troubled(dst []string, d Device) []string {
	if d.OperatingState == StateDown {
		dst = append(dst, StateDown)
	}
	if d.AdminState == StateLocked {
		dst = append(dst, StateLocked)
	}
	return dst
}

// Acknowledged is the only value in IndexAcknowledged.
const Acknowledged = "true"
