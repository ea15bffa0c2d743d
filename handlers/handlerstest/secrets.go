package handlerstest

// Secrets are handlers.Secrets in memory.
type Secrets struct {
	ByPath map[string]map[string]string
	// Fail, if set, is what Put answers.
	Fail error
}

// Put implements handlers.Secrets.
func (s *Secrets) Put(path string, data map[string]string) error {
	if s.Fail != nil {
		return s.Fail
	}
	if s.ByPath == nil {
		s.ByPath = map[string]map[string]string{}
	}
	s.ByPath[path] = data
	return nil
}
