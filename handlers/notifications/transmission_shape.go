package notifications

import (
	"ledge/domain"
	"ledge/handlers"
)

// transmissionShape is a transmission in answers, its fields in the order of EdgeX 2.3.
type transmissionShape struct {
	Created          int64         `json:"created,omitempty"`
	ID               string        `json:"id,omitempty"`
	Channel          ChannelFields `json:"channel"`
	NotificationID   string        `json:"notificationId"`
	SubscriptionName string        `json:"subscriptionName"`
	Records          []recordShape `json:"records"`
	ResendCount      int           `json:"resendCount,omitempty"`
	Status           string        `json:"status"`
}

// recordShape is one try to send.
type recordShape struct {
	Status   string `json:"status"`
	Response string `json:"response"`
	Sent     int64  `json:"sent"`
}

type transmissionAnswer struct {
	handlers.Envelope
	Transmission transmissionShape `json:"transmission"`
}

func shapeTransmission(d domain.Transmission) transmissionShape {
	records := make([]recordShape, len(d.Records))
	for i, r := range d.Records {
		records[i] = recordShape(r)
	}
	return transmissionShape{
		Created: d.Created, ID: d.ID, Channel: ChannelFields(d.Channel), NotificationID: d.NotificationID,
		SubscriptionName: d.SubscriptionName, Records: records, ResendCount: d.ResendCount, Status: d.Status,
	}
}

func hideResponses(d domain.Transmission) transmissionShape {
	shape := shapeTransmission(d)
	for i := range shape.Records {
		shape.Records[i].Response = domain.HiddenAnswer
	}
	return shape
}
