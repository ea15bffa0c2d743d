package domain

import "testing"

func TestSeedSamples(t *testing.T) {
	runDecisions(t, []decision{
		{name: "first start", given: onboarded(), when: SeedSamples{}, want: SamplesSeeded{}},
		{name: "later start", given: []Event{SamplesSeeded{}}, when: SeedSamples{}},
		{
			name: "later start, samples removed", given: append(onboarded(), SamplesSeeded{}, DeviceRemoved{Device: camera()}),
			when: SeedSamples{},
		},
	})
}

func TestSamplesWritten(t *testing.T) {
	if SamplesWritten(given(onboarded()...)) {
		t.Error("samples are written before they were seeded")
	}
	if !SamplesWritten(given(SamplesSeeded{})) {
		t.Error("samples are not written after they were seeded")
	}
}
