/** Members in order, each of which can be removed in constant time. */

/** A member of at most one line; it knows its neighbours. */
export interface Linked<Member> {
  line?: object | undefined;
  before?: Member | undefined;
  after?: Member | undefined;
}

/**
 * A linked list. Not a `Set`: its first member is found by passing every removed one before it, and where the oldest leave first it is
 * copied again and again.
 */
export class LinkedQueue<Member extends Linked<Member>> {
  first: Member | undefined;
  size = 0;
  private last: Member | undefined;

  add(member: Member): void {
    member.line = this;
    member.before = this.last;
    member.after = undefined;
    if (this.last) this.last.after = member;
    else this.first = member;
    this.last = member;
    this.size += 1;
  }

  /** Returns false if it is not in this line. */
  remove(member: Member): boolean {
    if (member.line !== this) return false;
    const { before, after } = member;
    if (before) before.after = after;
    else this.first = after;
    if (after) after.before = before;
    else this.last = before;
    // One that lives on must not keep its neighbours.
    member.line = undefined;
    member.before = undefined;
    member.after = undefined;
    this.size -= 1;
    return true;
  }

  all(): Member[] {
    const members: Member[] = [];
    for (let member = this.first; member; member = member.after) members.push(member);
    return members;
  }
}
