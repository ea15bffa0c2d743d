package domain

import "testing"

func TestPostReading(t *testing.T) {
	kept := with(picture(), func(r *ReadingPosted) { r.Digest, r.Value, r.Size = "9f86d0", nil, 5<<20 })
	runDecisions(t, []decision{
		{name: "in the message", given: onboarded(), when: PostReading{picture()}, want: picture()},
		{name: "beside the log", given: onboarded(), when: PostReading{kept}, want: kept},
		{name: "the same again", given: append(onboarded(), picture()), when: PostReading{picture()}, want: picture()},
	})
}

func TestReadingPostedKeepsTheFactOnly(t *testing.T) {
	got, ok := given(picture()).Readings.Get(otherID)
	if !ok || got != picture().Reading {
		t.Errorf("got %#v, %t, want %#v", got, ok, picture().Reading)
	}
}
