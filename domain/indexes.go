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

	// IndexAcknowledged has acknowledged notifications at [Acknowledged], and no others.
	IndexAcknowledged = "acknowledged"
	// IndexTime has the created time of notifications and transmissions, in milliseconds since the Unix epoch, and the
	// origin of core-data's events and their readings, in nanoseconds: see [Filter].From.
	IndexTime = "between"
)

// Acknowledged is the only value in IndexAcknowledged.
const Acknowledged = "true"
