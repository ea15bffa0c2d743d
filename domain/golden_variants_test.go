package domain

import "encoding/json"

// goldenVariants says what further files of testdata/events mean. Their names have what they show behind a plus sign.
var goldenVariants = map[string]Event{
	"transmission.tried/1+order": TransmissionTried{
		Topic: "DEVICE_CHANGED",
		Transmission: Transmission{
			ID: "3c9e5f0e-6f4f-4d57-9a70-6d1c0a7a1b06", NotificationID: "f7b2c8e1-2b3c-4f5a-9c8d-0e1f2a3b4c05", SubscriptionName: "alarms",
			Channel: Channel{Type: ChannelEmail, Recipients: []string{"ann@example.org", "ben@example.org", "cat@example.org"}},
			Status:  StatusResending, ResendCount: 1, Created: 1760000000240, Next: 1760000020241,
			Records:     []TransmissionRecord{{Status: StatusFailed, Response: "ben@example.org: 451 try again later; cat@example.org: 550 no such user", Sent: 1760000000241}},
			ResendLimit: 20, ResendInterval: 1000, FixedInterval: true, CorrelationID: "2f1e7c7e-4c56-4b0a-8f0e-7a0d3b5c9e08",
			Entity: "cam-1", Sequence: 4711, Critical: true, Left: []string{"ben@example.org"}, Refused: []string{"cat@example.org"},
		},
	},
	"command.issued/2+refused": CommandIssued{
		Device: "pump-1", Service: "device-modbus", Command: "start", Value: json.RawMessage(`{"pin":"(hidden)","speed":"40"}`),
		Status: 423, Message: "request failed, status code: 423, err: device pump-1 locked", Prev: 41,
	},
	"cleanup.requested/1+asked": CleanupRequested{Cleanup{Kind: "processed", Until: 1760000000400, Asked: 1760000000500}},
	"token.removed/1+rotated": TokenRemoved{Token: Token{
		Name: "till-3", Role: Operator, Credential: "c-2", Created: 1760000000000, Old: "c-1", OldUntil: 1760086400000,
	}},
	"token.added/1+certificate": TokenAdded{Token: Token{
		Name: "till-3.example.org", Role: Operator, Certificate: true, Created: 1760000000000,
	}},
	"notifications.raised/1+none":     NotificationsRaised{Raised: []Raised{}, UpTo: 10_042},
	"notifications.removed/1+cleanup": NotificationsRemoved{Cleanup: "processed", Notifications: []string{"f7b2c8e1-2b3c-4f5a-9c8d-0e1f2a3b4c05"}},
	"notifications.removed/1+rule":    NotificationsRemoved{Rule: "retention-notifications-age", Notifications: []string{"f7b2c8e1-2b3c-4f5a-9c8d-0e1f2a3b4c05"}},
	"notification.processed/1+partial": NotificationProcessed{
		Notification: Notification{
			ID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", Category: "gate", Content: "open", Sender: "guard", Severity: "CRITICAL",
			Status: "NEW", Created: 1760000000260, Modified: 1760000000261, Open: 1, Partial: true, Upto: "night-watch",
		},
		Transmissions: []Transmission{},
	},
	"notification.processed/1+failed": NotificationProcessed{
		Notification: Notification{
			ID: "9d1c0b6a-0f0e-4e0c-8a55-1b2c3d4e5f09", Category: "gate", Content: "open", Sender: "guard", Severity: "NORMAL",
			Status: "PROCESSED", Created: 1760000000260, Modified: 1760000000261, Failed: 2,
		},
		Transmissions: []Transmission{},
	},
	// The event before it of the name came later.
	"device.added/1+again":        DeviceAdded{Device: goldenDevice, Prev: 17},
	"device.removed/1+prev":       DeviceRemoved{Device: goldenDevice, Prev: 17},
	"profile.added/1+again":       ProfileAdded{Profile: goldenProfile, Prev: 17},
	"profile.removed/1+prev":      ProfileRemoved{Profile: goldenProfile, Prev: 17},
	"service.added/1+again":       ServiceAdded{Service: goldenService, Prev: 17},
	"service.removed/1+prev":      ServiceRemoved{Service: goldenService, Prev: 17},
	"watcher.added/1+again":       WatcherAdded{Watcher: goldenWatcher, Prev: 17},
	"watcher.removed/1+prev":      WatcherRemoved{Watcher: goldenWatcher, Prev: 17},
	"subscription.added/3+again":  SubscriptionAdded{Subscription: restricted, Prev: 17},
	"subscription.removed/3+prev": SubscriptionRemoved{Subscription: restricted, Prev: 17},
	"user.added/1+again":          UserAdded{goldenUser, 17},
	"user.updated/1+prev":         UserUpdated{"anna", Operator, Auditor, 1760000060000, 17},
	"user.password/1+prev":        UserPassword{"anna", "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f77", true, 1760000060000, 17},
	"user.removed/1+prev":         UserRemoved{goldenUser, 17},
	"token.added/1+again":         TokenAdded{goldenToken, 17},
	"token.rotated/1+prev":        TokenRotated{"pos-7", "c2f0a6de-63e1-4f0e-9c0a-0d7b8a3e1f77", 1760086400000, 17},
	"token.removed/1+prev":        TokenRemoved{goldenToken, 17},
}
