"""What every connector holds to. A test class inherits it and has a fixture `made`: a function that makes one anew."""

from __future__ import annotations

from knowledge.connectors import Item, ListEnd, RemovedItem


class ConnectorContract:
    """`made()` gives a connector over a place with at least two items, which does not change meanwhile."""

    def items(self, made, cursor=None):
        listed = list(made().changes(cursor or {}))
        return [one for one in listed if isinstance(one, Item)], listed

    def test_a_whole_list_ends_with_the_place_where_the_next_one_goes_on(self, made):
        items, listed = self.items(made)

        assert len(items) >= 2
        assert isinstance(listed[-1], ListEnd)
        assert listed[-1].is_full
        assert not any(isinstance(one, RemovedItem) for one in listed)

    def test_ids_are_unique_and_the_same_each_time(self, made):
        first, second = self.items(made)[0], self.items(made)[0]

        ids = [item.external_id for item in first]
        assert len(set(ids)) == len(ids)
        assert [item.external_id for item in second] == ids
        assert [item.stamp for item in second] == [item.stamp for item in first]

    def test_an_item_that_was_read_is_unchanged_by_its_stamp(self, made):
        for listed in made().changes({}):
            if isinstance(listed, Item):
                fetched = listed.read({})
                assert fetched is not None
                assert fetched.content
                assert fetched.name
                assert listed.stamp in ({}, fetched.stamp)
                assert listed.read(fetched.stamp) is None

    def test_from_there_on_nothing_has_changed(self, made):
        end = self.items(made)[1][-1]

        items, listed = self.items(made, end.cursor)

        assert all(item.read(item.stamp) is None for item in items)
        assert not any(isinstance(one, RemovedItem) for one in listed)
        assert listed[-1].cursor == end.cursor
