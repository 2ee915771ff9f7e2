interface Answer {
  __typename: string;
  id: string;
  message: string;
}

export interface Line {
  variant: string;
  quantity: number;
}

/** A customer with a session and an order of their own. */
export class Shopper {
  #session = '';

  constructor(private readonly shopApi: string) {}

  async fill(lines: readonly Line[]): Promise<void> {
    for (const { variant, quantity } of lines) {
      await this.#placed(
        `addItemToOrder(productVariantId: "${variant}", quantity: ${quantity}) { __typename ... on Order { id } ... on ErrorResult { message } }`,
      );
    }
  }

  /** @returns the order, which waits for its payment */
  checkOut(): Promise<{ id: string }> {
    return this.#placed(
      `transitionOrderToState(state: "ArrangingPayment") { __typename ... on Order { id } ... on OrderStateTransitionError { message: transitionError } }`,
    );
  }

  /** @returns `Order` if it is paid, otherwise the name of the error */
  async pay(): Promise<string> {
    const answer = await this.#mutate(
      `addPaymentToOrder(input: { method: "card", metadata: {} }) { __typename }`,
    );
    return answer.__typename;
  }

  async #placed(mutation: string): Promise<Answer> {
    const answer = await this.#mutate(mutation);
    if (answer.__typename !== 'Order') throw new Error(`${mutation}: ${answer.message}`);
    return answer;
  }

  async #mutate(mutation: string): Promise<Answer> {
    const response = await fetch(this.shopApi, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#session}` },
      body: JSON.stringify({ query: `mutation { result: ${mutation} }` }),
    });
    this.#session = response.headers.get('vendure-auth-token') ?? this.#session;
    const { data, errors }: { data?: { result: Answer | null }; errors?: unknown } =
      await response.json();
    if (!data?.result) throw new Error(`${mutation}: ${JSON.stringify(errors)}`);
    return data.result;
  }
}
