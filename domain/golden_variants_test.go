package domain

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
}
