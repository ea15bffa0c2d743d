package domain

// The indexes that a [Filter] may name. Which of them an entity has is listed in projections/indexes.go.
const (
	IndexLabel        = "label"
	IndexManufacturer = "manufacturer"
	IndexModel        = "model"
	IndexProfile      = "profile"
	IndexService      = "service"
	IndexCategory     = "category"
	IndexReceiver     = "receiver"
	IndexStatus       = "status"
	IndexSubscription = "subscription"
	IndexNotification = "notification"
	IndexEndpoint     = "endpoint" // of open transmissions; see Channel.Endpoint
	IndexDevice       = "device"
	IndexResource     = "resource"
)
