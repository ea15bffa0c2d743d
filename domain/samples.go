package domain

// SamplesSeeded records that Ledge wrote all of its samples, so that one that is deleted stays deleted.
type SamplesSeeded struct{}

// SeedSamples ends the writing of the samples at a first start; later it is nothing to do.
type SeedSamples struct{}

const seedSamples = "samples"

// SamplesWritten reports whether the samples were written on this log before.
func SamplesWritten(s State) bool { done, _ := s.Seeds.Get(seedSamples); return done }

// Decide implements Command.
func (SeedSamples) Decide(s State) (Event, error) {
	if SamplesWritten(s) {
		return nil, nil
	}
	return SamplesSeeded{}, nil
}

// Evolve notes that the samples are there.
func (SamplesSeeded) Evolve(s State) { s.Seeds.Put(seedSamples, true) }

// Subject implements Event.
func (SamplesSeeded) Subject() Subject { return Subject{"samples", "ledge", "seeded"} }
