package zeromq

import (
	"fmt"
	"slices"
	"sync"
)

const subscriptionOverhead = 64 // bytes that a topic costs beyond its own

// subscriptions counts one subscriber's references to each topic: a topic subscribed to twice
// must be cancelled twice. A match looks up one prefix for each distinct length of topic, so
// that its cost does not grow with the number of subscriptions.
type subscriptions struct {
	mu      sync.RWMutex
	refs    map[string]int
	lengths []int       // sorted
	ofLen   map[int]int // topics by length
	bytes   int

	maxTopics, maxBytes int
}

func newSubscriptions(o Options) *subscriptions {
	return &subscriptions{refs: map[string]int{}, ofLen: map[int]int{}, maxTopics: o.MaxTopics, maxBytes: o.MaxTopicBytes}
}

// costOf is what a topic counts, in bytes.
func costOf(topic string) int { return len(topic) + subscriptionOverhead }

// add reports whether the topic is new to the subscriber.
func (s *subscriptions) add(topic string) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs[topic] > 0 {
		s.refs[topic]++
		return false, nil
	}
	cost := costOf(topic)
	if len(s.refs) >= s.maxTopics {
		return false, fmt.Errorf("more than %d topics", s.maxTopics)
	}
	if s.bytes+cost > s.maxBytes {
		return false, fmt.Errorf("%d topics, which may take %d bytes, counting %d for each",
			len(s.refs), s.maxBytes, subscriptionOverhead)
	}
	s.bytes += cost
	s.refs[topic] = 1
	if s.ofLen[len(topic)]++; s.ofLen[len(topic)] == 1 {
		i, _ := slices.BinarySearch(s.lengths, len(topic))
		s.lengths = slices.Insert(s.lengths, i, len(topic))
	}
	return true, nil
}

// remove reports whether that was the last reference to the topic. A topic that is not
// subscribed to is ignored, as libzmq does.
func (s *subscriptions) remove(topic string) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := s.refs[topic]
	if refs != 1 {
		if refs > 1 {
			s.refs[topic]--
		}
		return false
	}
	s.bytes -= costOf(topic)
	delete(s.refs, topic)
	if s.ofLen[len(topic)]--; s.ofLen[len(topic)] == 0 {
		delete(s.ofLen, len(topic))
		i, _ := slices.BinarySearch(s.lengths, len(topic))
		s.lengths = slices.Delete(s.lengths, i, i+1)
	}
	return true
}

func (s *subscriptions) match(topic []byte) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, n := range s.lengths {
		if n > len(topic) {
			break
		}
		if _, ok := s.refs[string(topic[:n])]; ok {
			return true
		}
	}
	return false
}

func (s *subscriptions) addTo(topics map[string]struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for t := range s.refs {
		topics[t] = struct{}{}
	}
}
